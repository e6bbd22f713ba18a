"use strict";
// Everything can be read without this script. It adds the search, the folding of all thinking and all tool calls,
// and it opens what is folded around the entry that a link leads to.
{
  const LONGEST_MARKING = 400;
  const rows = [...document.querySelectorAll("#tree li")];
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const tree = document.getElementById("tree");

  const target = (hash) => document.getElementById(hash.slice(1));
  const entryOf = (row) => target(row.firstElementChild.getAttribute("href"));

  const reveal = () => {
    const entry = location.hash && target(location.hash);
    if (!entry) return;
    for (let at = entry; at; at = at.parentElement) if (at.localName === "details") at.open = true;
    entry.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  tree.addEventListener("click", (event) => {
    if (event.target.closest("a") && tree.matches(":popover-open")) tree.hidePopover();
  });

  for (const button of document.querySelectorAll("[data-folds]")) {
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(open));
      for (const details of document.querySelectorAll(`details.${button.dataset.folds}`)) details.open = open;
    });
  }

  // Settings and results are within reach of the search as well: a row matches by its own text or its entry's.
  let texts;
  const textOf = (row) => {
    texts ??= new Map();
    if (!texts.has(row)) texts.set(row, `${row.textContent}\n${entryOf(row)?.textContent ?? ""}`.toLowerCase());
    return texts.get(row);
  };

  const mark = (matches, wanted) => {
    if (!globalThis.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("found");
    const ranges = [];
    for (const row of matches) {
      const entry = entryOf(row);
      if (!entry || ranges.length >= LONGEST_MARKING) continue;
      const walker = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
      while (walker.nextNode() && ranges.length < LONGEST_MARKING) {
        const text = walker.currentNode.data.toLowerCase();
        // Where lower case is longer, places do not fit.
        if (text.length !== walker.currentNode.data.length) continue;
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          const range = new Range();
          range.setStart(walker.currentNode, at);
          range.setEnd(walker.currentNode, at + wanted.length);
          ranges.push(range);
        }
      }
    }
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
  };

  const look = () => {
    const wanted = search.value.trim().toLowerCase();
    const matches = [];
    for (const row of rows) {
      row.hidden = wanted !== "" && !textOf(row).includes(wanted);
      if (!row.hidden) matches.push(row);
    }
    found.textContent = wanted && `${matches.length} of ${rows.length} entries`;
    mark(wanted ? matches : [], wanted);
  };

  let soon;
  search.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(look, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const shown = rows.filter((row) => row.offsetParent !== null);
    const here = shown.findIndex((row) => row.firstElementChild.hash === location.hash);
    shown[(here + (event.shiftKey ? shown.length - 1 : 1)) % shown.length]?.firstElementChild.click();
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) return;
    event.preventDefault();
    if (tree.showPopover && getComputedStyle(tree).display === "none") tree.showPopover();
    search.focus();
  });

  for (const hidden of document.querySelectorAll(".find, .folds")) hidden.hidden = false;
}
