import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

/** useOpenRequests follows the window when it was asked to open a page (garita://approvals/ID). */
export function useOpenRequests() {
  const router = useRouter();
  useEffect(() => {
    return window.runtime?.EventsOn("garita:open", (path: string) => {
      if (typeof path === "string" && path.startsWith("/")) router.history.push(path);
    });
  }, [router]);
}
