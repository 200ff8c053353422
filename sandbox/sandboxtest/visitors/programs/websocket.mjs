// Node's own WebSocket.
const began = performance.now();
const socket = new WebSocket(process.argv[2].replace(/^http/, "ws"));
let answers = 0;
socket.onopen = () => socket.send("no token");
socket.onmessage = (m) => {
	console.log(m.data);
	if (++answers === 2) socket.close();
};
socket.onerror = (e) => {
	console.log("failed:", e.message);
	process.exitCode = 1;
};
socket.onclose = () => console.error(`took ${performance.now() - began}`);
