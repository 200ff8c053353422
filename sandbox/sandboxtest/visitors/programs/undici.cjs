const { Agent, request } = require(`${process.env.KIT}/node_modules/undici`);
const [url, token] = [process.argv[2], process.env.TOKEN];
const began = performance.now();
const dispatcher = new Agent({ connections: 2, allowH2: true });
request(url, { dispatcher, headers: token ? { authorization: `Bearer ${token}` } : {} })
	.then((answer) => answer.body.text())
	.then(console.log)
	.catch((e) => {
		console.log("failed:", e.code ?? e);
		process.exitCode = 1;
	})
	.finally(() => {
		console.error(`took ${performance.now() - began}`);
		return dispatcher.close();
	});
