/**
 * The least that one does with the official TypeScript SDK: connect, list, call.
 *
 *     small_typescript.mjs PACKAGES MAJOR stdio COMMAND...
 *     small_typescript.mjs PACKAGES MAJOR http URL
 *
 * What the server answered is printed as one JSON object.
 */

import { createRequire } from "node:module";
import { join } from "node:path";

const SECONDS = 45;
const [packages, major, kind, target, ...args] = process.argv.slice(2);
const load = createRequire(join(packages, "package.json"));
const home = major === "1" ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client";
const { Client } = load(major === "1" ? `${home}/client/index.js` : home);
const { StdioClientTransport } = load(major === "1" ? `${home}/client/stdio.js` : `${home}/stdio`);
const { StreamableHTTPClientTransport } = load(
  major === "1" ? `${home}/client/streamableHttp.js` : home,
);

const alarm = setTimeout(() => process.exit(1), SECONDS * 1000);
const client = new Client({ name: "small", version: "1.0.0" });
await client.connect(
  kind === "stdio"
    ? new StdioClientTransport({ command: target, args })
    : new StreamableHTTPClientTransport(new URL(target)),
);
const { tools } = await client.listTools();
const called = await client.callTool({ name: "count", arguments: { text: "Hello, world" } });
await client.close();
clearTimeout(alarm);
console.log(
  JSON.stringify({ tools: tools.map((tool) => tool.name), count: called.structuredContent }),
);
