// A call is told as a sentence. tell finds the paths, addresses and quoted words in it, which are
// set in monospace: they are the object, the rest is our own words.

export interface Word {
  text: string;
  object: boolean;
}

const object = /(“[^”]*”|(?:https?:\/\/|[~.]?\/)\S+|[\w@.-]+\/[\w@./-]+|[\w-]+\.[A-Za-z][A-Za-z0-9]{0,5}(?=\s|$|,))/u;

export function tell(sentence: string): Word[] {
  return sentence
    .split(object)
    .map((text, i) => ({ text, object: i % 2 === 1 }))
    .filter((w) => w.text !== "");
}
