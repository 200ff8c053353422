// The health check of gRPC, whose answer says nothing; what the host says is in the answer's metadata.
const grpc = require(`${process.env.KIT}/node_modules/@grpc/grpc-js`);
const at = new URL(process.argv[2]);
const client = new grpc.Client(`${at.hostname}:${at.port || 443}`, grpc.credentials.createSsl(process.env.SSL_CERT_FILE ? require("fs").readFileSync(process.env.SSL_CERT_FILE) : null));
const metadata = new grpc.Metadata();
if (process.env.TOKEN) metadata.set("authorization", `Bearer ${process.env.TOKEN}`);
const raw = (bytes) => bytes;
const began = performance.now();
const call = client.makeUnaryRequest("/grpc.health.v1.Health/Check", raw, raw, Buffer.alloc(0), metadata, { deadline: Date.now() + 60000 }, (e) => {
	if (e) {
		console.log("failed:", e.message);
		process.exitCode = 1;
	}
	console.error(`took ${performance.now() - began}`);
	client.close();
});
call.on("metadata", (m) => console.log(String(m.get("x-answer"))));
