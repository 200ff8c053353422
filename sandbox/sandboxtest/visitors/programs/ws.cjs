// The package ws: it can send headers along. It says its token in a message, too.
const WebSocket = require(`${process.env.KIT}/node_modules/ws`);
const [url, token] = [process.argv[2].replace(/^http/, "ws"), process.env.TOKEN];
const began = performance.now();
const socket = new WebSocket(url, { headers: token ? { authorization: `Bearer ${token}` } : {} });
let answers = 0;
socket.on("open", () => socket.send(token ?? "no token"));
socket.on("message", (text) => {
	console.log(String(text));
	if (++answers === 2) socket.close();
});
socket.on("error", (e) => {
	console.log("failed:", e.code ?? e.message);
	process.exitCode = 1;
});
socket.on("close", () => console.error(`took ${performance.now() - began}`));
