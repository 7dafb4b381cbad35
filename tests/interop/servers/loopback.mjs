// Loaded before a server that would listen on every interface, on a port that somebody
// chose: it listens on loopback, on a port that is free, and says which.
import { Server } from "node:net";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ready) {
  this.once("listening", () => {
    console.error(`running on http://127.0.0.1:${this.address().port}`);
  });
  return listen.call(this, { host: "127.0.0.1", port: 0 }, ready);
};
