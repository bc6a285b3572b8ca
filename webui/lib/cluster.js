// The page's end of the worker: hooks that ask it, and hear of the connection.

import { useEffect, useState } from "react";
import { base, session } from "./session.js";

const worker = new Worker(new URL("assets/worker.js", base));
const watches = new Map(); // number -> what to call with an answer
const listeners = new Set();
let status = { phase: "connecting" };
let last = 0;

worker.onmessage = ({ data }) => {
  if (data.watch) {
    const tell = watches.get(data.watch);
    if (tell) tell(data.answer);
    return;
  }
  status = data.status;
  // The new leader's page shows the same place.
  if (status.phase === "moved") {
    const there = new URL(status.to);
    if (there.host === location.host) location.reload();
    else location.replace(there.href + location.hash);
  }
  for (const tell of listeners) tell(status);
};
worker.postMessage({ base, authorization: session.authorization });

export function signIn(scheme, principal, secret) {
  session.signIn(scheme, principal, secret);
  worker.postMessage({ signIn: session.authorization });
}

export function signOut() {
  session.signOut();
  location.reload();
}

// What changed is no event: have the worker look.
export const lookAgain = () => worker.postMessage({ look: true });

export function useStatus() {
  const [current, set] = useState(status);
  useEffect(() => {
    listeners.add(set);
    set(status);
    return () => listeners.delete(set);
  }, []);
  return current;
}

// The answer to a query (model/query.js), again and again; undefined until the first one. While the
// query changes, the answer to the one before stays.
export function useAsk(query) {
  const [answer, set] = useState(undefined);
  const text = JSON.stringify(query);
  useEffect(() => {
    const number = ++last;
    watches.set(number, set);
    worker.postMessage({ watch: number, query: JSON.parse(text) });
    return () => {
      watches.delete(number);
      worker.postMessage({ watch: number });
    };
  }, [text]);
  return answer;
}
