// The same in Node, Deno and Bun.
const [url, token] = [process.argv[2], process.env.TOKEN];
const began = performance.now();
try {
	const answer = await fetch(url, { headers: token ? { authorization: `Bearer ${token}` } : {} });
	console.log(await answer.text());
} catch (e) {
	console.log("failed:", e.cause?.code ?? e.code ?? e.cause ?? e.message);
	process.exitCode = 1;
}
console.error(`took ${performance.now() - began}`);
