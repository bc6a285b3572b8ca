// The page's other thread. It reads the event stream, keeps what is known of the cluster, and
// answers what the views ask, anew when that changed. So the page stays smooth, however much there
// is to parse and sort.
//
// To the worker: {base} first; {signIn}; {watch, query}; {unwatch}.
// From it:       {status}; {watch, answer}; {failure}.

import { Cluster } from "./model/cluster.js";
import { History } from "./model/history.js";
import { ask } from "./model/query.js";
import { Stream } from "./model/stream.js";

const ANSWER_MS = 250;   // at the earliest, between two answers to the same question
const SHARE = 4;         // of the time, at most one part in so many is spent on answering
const ABSENCE_MS = 3000;

const cluster = new Cluster();
const history = new History();
const watches = new Map(); // number -> query
let stream = null;
let live = false;
let due = null;
let pauseMs = ANSWER_MS;

function answer(number, query) {
  const found = query.ask === "history" ? history.samples.slice() : ask(cluster, query);
  postMessage({ watch: number, answer: found });
}

function answerAll() {
  const begin = performance.now();
  due = null;
  for (const [number, query] of watches) answer(number, query);
  pauseMs = Math.max(ANSWER_MS, (performance.now() - begin) * SHARE);
}

function changed() {
  if (live) due ||= setTimeout(answerAll, pauseMs);
}

function told(status) {
  live = status.phase === "live";
  postMessage({ status });
}

// Who goes away, or is taken out of service, is no event.
async function lookForAbsence() {
  if (!live) return;
  try {
    const found = await fetch(new URL("away", stream.base),
                              { headers: stream.headers({}), credentials: "omit" });
    if (found.status === 200 && cluster.noteAway(await found.json())) changed();
  } catch { /* the stream says what is wrong with the master */ }
}

onmessage = ({ data }) => {
  if (data.base) {
    stream = new Stream({
      base: data.base,
      authorization: data.authorization,
      told,
      event(event) {
        cluster.apply(event);
        if (event.type === "SUBSCRIBED") {
          answerAll();
          lookForAbsence();
        } else if (event.type !== "HEARTBEAT") {
          changed();
        }
      },
    });
    setInterval(lookForAbsence, ABSENCE_MS);
    setInterval(() => {
      if (!live) return;
      history.note(cluster.counts, Date.now());
      for (const [number, query] of watches) if (query.ask === "history") answer(number, query);
    }, 1000);
  } else if (data.signIn !== undefined) {
    stream.signIn(data.signIn);
  } else if (data.look) {
    lookForAbsence();
  } else if (data.query) {
    watches.set(data.watch, data.query);
    if (live) answer(data.watch, data.query);
  } else {
    watches.delete(data.watch);
  }
};
