import { render } from "@testing-library/react";
import { App } from "@/app";

/** open shows the app at a path, as a browser with a session does. */
export function open(path: string) {
  localStorage.setItem("garita.token", "secret-token");
  history.replaceState(null, "", path);
  return render(<App signedIn claimFailed={false} />);
}
