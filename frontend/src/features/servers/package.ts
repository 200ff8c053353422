import type { Server } from "@/api/types";

/** packageOf is what a server runs: its locked package and integrity, its image, its command, or where it is. */
export function packageOf(server: Server): { name: string; integrity?: string | undefined } {
  if (server.package) {
    const [name, ...rest] = server.package.split(" ");
    return { name: name ?? "", integrity: rest.join(" ") || undefined };
  }
  if (server.image) {
    const [name, digest] = server.image.split("@");
    return { name: name ?? "", integrity: digest };
  }
  return { name: server.url ?? server.command.join(" ") };
}
