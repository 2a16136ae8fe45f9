"use strict";
const content = document.getElementById("content");
const state = document.getElementById("state");
const here = new URL(location.href);
here.searchParams.set("format", "events");
here.hash = "";
const events = new EventSource(here);
events.onmessage = (event) => {
  content.innerHTML = event.data;
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
  const send = async (action) => {
    outcome.textContent = "…";
    try {
      const response = await fetch("?", {
        method: "POST",
        headers: { "content-type": "application/json", "x-lock-admin": "release" },
        body: JSON.stringify({ key: release.dataset.key, action }),
      });
      const answer = await response.json();
      if (!response.ok) outcome.textContent = "Not done: " + answer.detail;
      else if (action === "request") outcome.textContent = "Requested of " + answer.requested + " holders.";
      else if (!answer.was_held) outcome.textContent = "It was not held.";
      else outcome.textContent = "Taken away. New fencing token: " + (answer.fencing_token ?? "none") + ".";
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
