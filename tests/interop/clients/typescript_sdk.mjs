/*
 * A client made with the official TypeScript SDK: `@modelcontextprotocol/sdk` (1.x) or
 * `@modelcontextprotocol/client` (2.x).
 *
 *     typescript_sdk.mjs PACKAGES 1|2 MODE stdio COMMAND...
 *     typescript_sdk.mjs PACKAGES 1|2 MODE http|sse URL
 *
 * PACKAGES is the directory with node_modules. MODE is `legacy` or, with 2.x, also `auto`,
 * `modern`, or an older version to ask for. What the server answered is printed as one
 * JSON object, in the words of the wire.
 */

import { createRequire } from "node:module";
import { join } from "node:path";

const SECONDS = 45; // for everything
const [packages, major, mode, kind, ...target] = process.argv.slice(2);
const load = createRequire(join(packages, "package.json"));
const sdk = major === "1" ? sdk1() : sdk2();

// --- what differs between the two ---------------------------------------------------------

let agreed; // 1.x tells its transport alone which version it is

function sdk1() {
  const home = "@modelcontextprotocol/sdk";
  const types = load(`${home}/types.js`);
  const schemas = {
    "sampling/createMessage": types.CreateMessageRequestSchema,
    "elicitation/create": types.ElicitRequestSchema,
    "roots/list": types.ListRootsRequestSchema,
    "notifications/message": types.LoggingMessageNotificationSchema,
    "notifications/tools/list_changed": types.ToolListChangedNotificationSchema,
  };
  return {
    ...load(`${home}/client/index.js`),
    ...load(`${home}/client/stdio.js`),
    ...load(`${home}/client/streamableHttp.js`),
    ...load(`${home}/client/sse.js`),
    key: (method) => schemas[method],
    version: () => agreed,
  };
}

function sdk2() {
  const home = "@modelcontextprotocol/client";
  return {
    ...load(home),
    ...load(`${home}/stdio`),
    key: (method) => method,
    version: (client) => client.getNegotiatedProtocolVersion(),
  };
}

function options() {
  if (mode === "legacy") return {};
  if (mode === "auto") return { versionNegotiation: { mode } };
  if (mode === "modern") return { versionNegotiation: { mode: { pin: "2026-07-28" } } };
  return { supportedProtocolVersions: [mode] };
}

// --- connecting, and how the client answers -----------------------------------------------

function newTransport() {
  const transport = bareTransport();
  const tell = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    agreed = version;
    tell?.(version);
  };
  return transport;
}

function bareTransport() {
  if (kind === "stdio") {
    const [command, ...args] = target;
    return new sdk.StdioClientTransport({ command, args });
  }
  const Transport = kind === "sse" ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
  return new Transport(new URL(target[0]));
}

function newClient(heard) {
  const client = new sdk.Client(
    { name: "typescript-sdk", version: major },
    { capabilities: { sampling: {}, elicitation: {}, roots: {} }, ...options() },
  );
  client.onerror = (error) => {
    // That it gave up a request is the client's own doing, no fault of the server.
    if (error.name !== "AbortError") heard.errors.push(String(error));
  };
  client.setRequestHandler(sdk.key("sampling/createMessage"), ({ params }) => {
    const { content } = params.messages.at(-1);
    const { text } = Array.isArray(content) ? content[0] : content;
    return { role: "assistant", model: "parrot", content: { type: "text", text: text.toUpperCase() } };
  });
  client.setRequestHandler(sdk.key("elicitation/create"), () => ({
    action: "accept",
    content: { name: "Ada", age: 36 },
  }));
  client.setRequestHandler(sdk.key("roots/list"), () => ({ roots: [{ uri: "file:///ada" }] }));
  client.setNotificationHandler(sdk.key("notifications/message"), ({ params }) => {
    heard.logs.push(params);
  });
  client.setNotificationHandler(sdk.key("notifications/tools/list_changed"), ({ method }) => {
    heard.changes.push(method);
  });
  return client;
}

// --- what is tried ------------------------------------------------------------------------

/** The result, or the error that the server answered with. */
async function tried(call) {
  try {
    return await call;
  } catch (error) {
    if (!Number.isInteger(error.code)) throw error;
    return { error: { code: error.code, message: error.message, data: error.data } };
  }
}

/** Wait until there are that many: a handler may run after the answer came. */
async function until(what, number) {
  const deadline = Date.now() + 30_000;
  while (what.length < number) {
    if (Date.now() > deadline) throw new Error(`only ${JSON.stringify(what)} came`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Everything that needs one request and one answer. */
async function features(client, report) {
  const call = (name, args = {}) => tried(client.callTool({ name, arguments: args }));
  report.tools = await tried(client.listTools());
  report.add = await call("add", { a: 2, b: 3 });
  report.primes = await call("primes", { below: 12 });
  report.draw = await call("draw");
  report.fail = await call("divide", { a: 1, b: 0 });
  report.badArguments = await call("add", { a: "two" });
  report.unknownTool = await call("subtract");
  report.askModel = await call("ask_model", { question: "why?" });
  report.askUser = await call("ask_user");
  report.askRoots = await call("ask_roots");

  const read = (uri) => tried(client.readResource({ uri }));
  report.resources = await tried(client.listResources());
  report.templates = await tried(client.listResourceTemplates());
  report.text = await read("note://today");
  report.blob = await read("note://pixel");
  report.fromTemplate = await read("note://of/ada/engines");
  report.unknownResource = await read("note://tomorrow");

  const prompt = (given) => tried(client.getPrompt({ name: "review", arguments: given }));
  report.prompts = await tried(client.listPrompts());
  report.prompt = await prompt({ code: "x = 1", language: "Rust" });
  report.badPrompt = await prompt({});

  const complete = (ref, name, value) => tried(client.complete({ ref, argument: { name, value } }));
  report.completion = await complete({ type: "ref/prompt", name: "review" }, "language", "Py");
  const template = { type: "ref/resource", uri: "note://of/{person}/{topic}" };
  report.templateCompletion = await complete(template, "person", "a");
}

/** The reports of a call that ends only after they were heard. */
async function progress(client) {
  const came = [];
  const onprogress = (report) => came.push(report);
  const counting = call(client, { name: "count", arguments: { to: 3 } }, { onprogress });
  await until(came, 3);
  await call(client, { name: "go_on", arguments: {} });
  await counting;
  return came;
}

async function logs(client, heard, modern) {
  const params = { name: "chat", arguments: {} };
  // A modern client says with every request what it wants.
  if (modern) params._meta = { "io.modelcontextprotocol/logLevel": "info" };
  else await client.setLoggingLevel("info");
  await call(client, params);
  await until(heard.logs, 1);
  return heard.logs;
}

/** Many calls in flight; the answers must not be mixed up. */
async function atOnce(client) {
  const numbers = Array.from({ length: 20 }, (_, number) => number);
  const results = await Promise.all(
    numbers.map((n) => call(client, { name: "add", arguments: { a: n, b: n } })),
  );
  return results.map((result) => result.structuredContent ?? JSON.parse(result.content[0].text));
}

/** Give up on a call, and ask whether the server noticed. */
async function cancellation(client) {
  const giveUp = new AbortController();
  const waiting = call(
    client,
    { name: "wait_forever", arguments: {} },
    { signal: giveUp.signal, onprogress: () => giveUp.abort() },
  );
  await waiting.catch((error) => {
    if (!giveUp.signal.aborted) throw error;
  });
  return call(client, { name: "wait_for_cancellation", arguments: {} });
}

/** What the client is told when the tools change. */
async function change(client, heard, modern) {
  const listening = modern ? await client.listen({ toolsListChanged: true }) : undefined;
  await call(client, { name: "learn", arguments: {} });
  await until(heard.changes, 1);
  await listening?.close();
  return heard.changes[0];
}

/** 1.x has the schema of the result where 2.x has the options. */
function call(client, params, requestOptions) {
  return major === "1"
    ? client.callTool(params, undefined, requestOptions)
    : client.callTool(params, requestOptions);
}

async function main() {
  const heard = { logs: [], changes: [], errors: [] };
  const client = newClient(heard);
  const transport = newTransport();
  await client.connect(transport);
  const report = {
    protocolVersion: sdk.version(client),
    serverInfo: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  };
  const modern = report.protocolVersion > "2025-11-25";
  if (!modern) report.ping = await client.ping();
  await features(client, report);
  report.progress = await progress(client);
  report.logs = await logs(client, heard, modern);
  report.atOnce = await atOnce(client);
  report.cancellation = await cancellation(client);
  report.change = await change(client, heard, modern);
  report.toolsAfterwards = await client.listTools();
  if (kind === "http") await transport.terminateSession?.();
  await client.close();
  report.errors = heard.errors;
  console.log(JSON.stringify(report));
}

const alarm = setTimeout(() => {
  console.error(`not done in ${SECONDS} s`);
  process.exit(1);
}, SECONDS * 1000);
await main();
clearTimeout(alarm);
