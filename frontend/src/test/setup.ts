import { cleanup, configure } from "@testing-library/react";
import { afterEach, beforeEach } from "vitest";

// Patience for machines with much else to do; what passes does not wait.
configure({ asyncUtilTimeout: 15_000 });

beforeEach(() => {
  // happy-dom lays nothing out: give the virtual table something to fill, and no second opinion.
  Reflect.deleteProperty(window, "ResizeObserver");
  for (const [name, size] of Object.entries({ clientHeight: 600, clientWidth: 1000 })) {
    let proto: object | null = document.createElement("div");
    while (proto && !Object.hasOwn(proto, name)) proto = Object.getPrototypeOf(proto) as object | null;
    if (proto) Object.defineProperty(proto, name, { configurable: true, get: () => size });
  }
});

afterEach(() => {
  cleanup();
  localStorage.clear();
});
