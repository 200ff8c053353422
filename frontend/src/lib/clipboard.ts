/** copy puts text into the clipboard and says whether it could. The window's page counts as no
 * secure context, so there the old way has to do. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOld(text);
  }
}

function copyOld(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "sr-only";
  const before = document.activeElement;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy"); // deprecated, and the only way without a secure context
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}
