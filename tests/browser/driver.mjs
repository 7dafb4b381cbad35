// Drives one page of one browser: a line of JSON in, a line of JSON out.
//
// {"call": "page.keyboard.press", "arguments": ["j"]} → {"value": …} or {"error": "…"};
// {"call": "seen"} → what the page requested, logged and threw until now.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/any`)("playwright-core");
const args = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const browser = await chromium.launch({ executablePath, args });
const context = await browser.newContext();
const page = await context.newPage();
page.setDefaultTimeout(30_000);
const seen = { requests: [], messages: [], errors: [] };
context.on("request", (request) => seen.requests.push(request.url()));
page.on("console", (message) => seen.messages.push(`${message.type()}: ${message.text()}`));
page.on("pageerror", (error) => seen.errors.push(String(error)));

for await (const line of createInterface({ input: process.stdin })) {
  const { call, arguments: given = [] } = JSON.parse(line);
  let answer;
  try {
    if (call === "seen") answer = { value: seen };
    else {
      const path = call.split(".");
      const method = path.pop();
      const target = path.reduce((found, name) => found[name], { page, context, browser });
      const value = await target[method](...given);
      // Handles of the browser's things mean nothing outside.
      answer = { value: ["string", "number", "boolean"].includes(typeof value) || call === "page.evaluate" ? value : null };
    }
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
await browser.close();
