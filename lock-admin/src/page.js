"use strict";
const content = document.getElementById("content");
const state = document.getElementById("state");
// By the id of a table: the column that it is sorted by. Others are in the server's order.
const sorted = new Map();
const collator = new Intl.Collator(undefined, { numeric: true });
let latest = content.innerHTML;

const keyOf = (node) => node.id || node.dataset?.key;

// Makes `old` equal to `next`. A node that stays is not replaced, so it keeps the focus and the selection.
const patch = (old, next) => {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  patchChildren(old, next);
};

const patchChildren = (old, next) => {
  const wanted = new Set([...next.children].map(keyOf));
  for (const child of [...old.children]) if (keyOf(child) && !wanted.has(keyOf(child))) child.remove();
  const known = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const child of [...next.childNodes]) {
    const key = keyOf(child);
    const isSame = at && !keyOf(at) && at.nodeName === child.nodeName;
    const same = key ? known.get(key) : isSame ? at : undefined;
    known.delete(key);
    if (same === at && same) at = at.nextSibling;
    // A node that is moved by `insertBefore` loses the focus; older browsers have nothing else.
    else if (same) (old.moveBefore ?? old.insertBefore).call(old, same, at);
    else old.insertBefore(child, at);
    if (same) patch(same, child);
  }
  while (at) {
    const surplus = at;
    at = at.nextSibling;
    surplus.remove();
  }
};

const prepare = (table) => {
  const { column, descending } = sorted.get(table.id) ?? {};
  for (const header of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.append(...header.childNodes);
    header.append(button);
    if (header.cellIndex === column) header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  }
  if (column === undefined) return;
  const value = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
  const sign = descending ? -1 : 1;
  // Those without a value are last in either direction.
  const compare = (a, b) => (a === "") - (b === "") || sign * collator.compare(a, b);
  const rows = [...table.tBodies[0].rows].sort((one, other) => compare(value(one), value(other)));
  table.tBodies[0].append(...rows);
};

const show = () => {
  const next = document.createElement("template");
  next.innerHTML = latest;
  for (const table of next.content.querySelectorAll("table")) prepare(table);
  patchChildren(content, next.content);
};
show();

// Ascending, descending, and then the server's order again.
content.onclick = (event) => {
  const header = event.target.closest("th");
  if (!header) return;
  const { id } = header.closest("table");
  const { column, descending } = sorted.get(id) ?? {};
  if (column !== header.cellIndex) sorted.set(id, { column: header.cellIndex, descending: false });
  else if (!descending) sorted.set(id, { column, descending: true });
  else sorted.delete(id);
  show();
};

const here = new URL(location.href);
here.searchParams.set("format", "events");
here.hash = "";
const events = new EventSource(here);
events.onmessage = (event) => {
  latest = event.data;
  show();
  state.textContent = "live";
};
// The server ends a response after some events, and the browser connects again.
events.onerror = () => {
  if (events.readyState === EventSource.CLOSED) state.textContent = "not live: reload the page";
};

const release = document.getElementById("release");
if (release) {
  const outcome = document.getElementById("outcome");
  const confirm = document.getElementById("confirm");
  const result = (action, answer) => {
    if (action === "request") return `Requested of ${answer.requested} holder${answer.requested === 1 ? "" : "s"}.`;
    if (!answer.was_held) return "It was not held.";
    return `Taken away. New fencing token: ${answer.fencing_token ?? "none"}.`;
  };
  const send = async (action) => {
    outcome.textContent = "…";
    try {
      const response = await fetch("?", {
        method: "POST",
        headers: { "content-type": "application/json", "x-lock-admin": "release" },
        body: JSON.stringify({ key: release.dataset.key, action }),
      });
      const answer = await response.json();
      outcome.textContent = response.ok ? result(action, answer) : "Not done: " + answer.detail;
    } catch (why) {
      outcome.textContent = "No answer (" + why + "): look at the lock before you repeat it.";
    }
  };
  document.getElementById("request").onclick = () => send("request");
  document.getElementById("force").onclick = () => confirm.showModal();
  document.getElementById("keep").onclick = () => confirm.close();
  document.getElementById("confirmed").onclick = () => {
    confirm.close();
    send("force");
  };
  release.hidden = false;
}
