import { render } from "preact";

import "./style/page.css";

import { App } from "./app.jsx";
import { Standalone } from "./inspector/standalone.jsx";
import { theme } from "./panels/about.jsx";
import { StoreContext } from "./parts/hooks.js";
import { Store } from "./store.js";

// Code blocks are inserted as HTML, so their buttons cannot have handlers of their own.
document.addEventListener("click", (event) => {
  const button = (event.target as Element | null)?.closest?.("button.copy");
  const code = button?.closest(".code")?.querySelector("code")?.textContent;
  if (!button || code === null || code === undefined) return;
  void navigator.clipboard.writeText(code).then(
    () => (button.textContent = "Copied"),
    () => (button.textContent = "Not allowed"),
  );
  setTimeout(() => (button.textContent = "Copy"), 1500);
});

theme(localStorage.getItem("agentese theme") ?? "system");
const place = document.getElementById("page");
if (place && location.hash === "#inspect") {
  render(<Standalone />, place);
} else if (place) {
  const store = new Store();
  store.link.open();
  // These globals are for the browser console and for tests.
  Object.assign(globalThis, { agenteseLink: store.link });
  render(
    <StoreContext.Provider value={store}>
      <App />
    </StoreContext.Provider>,
    place,
  );
}
