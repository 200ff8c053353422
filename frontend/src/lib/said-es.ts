/** templates are sentences of the daemon and what they mean in Spanish, in the order they are tried. */
export const templates: readonly (readonly [said: string, means: string])[] = [["Everything is running", "Todo está en marcha"]];
