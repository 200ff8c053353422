import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./styles/main.css";
import { App } from "./app";
import { claim, signedIn } from "./api/transport";
import { applyTheme } from "./lib/theme";

applyTheme();

async function start() {
  let claimFailed = false;
  try {
    await claim();
  } catch {
    claimFailed = true;
  }
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <App signedIn={signedIn() && !claimFailed} claimFailed={claimFailed} />
    </StrictMode>,
  );
}

void start();
