import type { FileDiff } from "@/api/types";

/** Row is one line of the tree of changes: a folder, or a changed file in it. */
export interface Row {
  depth: number;
  name: string;
  file?: FileDiff;
  key: string;
}

/** tree lays changes out as a tree, folders with one child drawn together. */
export function tree(files: FileDiff[]): Row[] {
  const rows: Row[] = [];
  for (const folder of [...new Set(files.map((f) => f.folder))].sort()) {
    rows.push({ depth: 0, name: folder, key: folder });
    const inside = files.filter((f) => f.folder === folder).sort((a, b) => compare(a.path, b.path));
    grow(
      rows,
      inside.map((file) => ({ file, parts: file.path.split("/") })),
      1,
      folder,
    );
  }
  return rows;
}

interface Leaf {
  file: FileDiff;
  parts: string[];
}

function grow(rows: Row[], leaves: Leaf[], depth: number, above: string) {
  for (let i = 0; i < leaves.length;) {
    const leaf = leaves[i]!;
    if (leaf.parts.length === 1) {
      rows.push({ depth, name: leaf.parts[0]!, file: leaf.file, key: keyOf(leaf.file) });
      i++;
      continue;
    }
    let n = 1;
    while (leaves[i + n]?.parts[0] === leaf.parts[0] && leaves[i + n]!.parts.length > 1) n++;
    const group = leaves.slice(i, i + n);
    const shared = common(group.map((l) => l.parts.slice(0, -1)));
    const name = shared.join("/");
    rows.push({ depth, name, key: `${above}/${name}` });
    grow(
      rows,
      group.map((l) => ({ file: l.file, parts: l.parts.slice(shared.length) })),
      depth + 1,
      `${above}/${name}`,
    );
    i += n;
  }
}

function common(lists: string[][]): string[] {
  const [first, ...rest] = lists as [string[], ...string[][]];
  let n = 0;
  while (n < first.length && rest.every((l) => l[n] === first[n])) n++;
  return first.slice(0, n);
}

/** compare puts folders before the files beside them. */
function compare(a: string, b: string): number {
  const x = a.split("/");
  const y = b.split("/");
  for (let i = 0; ; i++) {
    if (x[i] === undefined || y[i] === undefined) return (x[i] === undefined ? 0 : 1) - (y[i] === undefined ? 0 : 1);
    const folders = Number(y.length > i + 1) - Number(x.length > i + 1);
    if (x[i] !== y[i]) return folders || (x[i]! < y[i]! ? -1 : 1);
  }
}

/** keyOf names a change within its workspace. */
export function keyOf(file: { folder: string; path: string }): string {
  return `${file.folder}/${file.path}`;
}
