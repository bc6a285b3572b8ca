// The event stream of the leading master, for ever: when it breaks it is opened again, here or, if
// another master leads now, there. What is known of the connection is told as it changes:
//
//   {phase: "connecting"}                         the first time
//   {phase: "live"}
//   {phase: "lost", since, why, waiting}          tried again every second
//   {phase: "sign-in", realm, scheme, refused}    the master asks who it is
//   {phase: "forbidden", why}
//   {phase: "moved", to}                          the page is to be opened there

import { Records } from "./recordio.js";

const RETRY_MS = 1000;
// The master sends a heartbeat every 15 s.
const SILENCE_MS = 40000;
// Who does not lead may lead to a master that is dead, until ZooKeeper knows.
const BELIEVE_MS = 20000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Stream {
  // `base`: the URL of the page's folder; `event` gets each event, `told` each change as above.
  constructor({ base, authorization, event, told }) {
    this.base = base;
    this.event = event;
    this.told = told;
    this.authorization = authorization || null;
    this.masters = [];
    this.since = 0;   // when the connection was lost
    this.wake = null;
    this.run();
  }

  signIn(authorization) {
    this.authorization = authorization;
    if (this.wake) this.wake();
  }

  async run() {
    this.told({ phase: "connecting" });
    for (;;) {
      const why = await this.#follow().catch((error) => String(error.message || error));
      if (why === "signed out") continue;
      this.since ||= Date.now();
      this.told({ phase: "lost", since: this.since, why });
      const to = await this.#nextLeader();
      if (to) {
        this.told({ phase: "moved", to });
        await pause(10 * RETRY_MS);
      }
      await pause(RETRY_MS);
    }
  }

  headers(more) {
    return this.authorization ? { ...more, Authorization: this.authorization } : more;
  }

  // Reads events until the stream ends; returns or throws why it did.
  async #follow() {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const answer = await fetch(new URL("api/v1", this.base), {
        method: "POST",
        headers: this.headers({ "Content-Type": "application/json", Accept: "application/json" }),
        body: JSON.stringify({ type: "SUBSCRIBE" }),
        credentials: "omit", redirect: "manual", signal: silence.signal,
      });
      if (answer.type === "opaqueredirect") return "another master leads now";
      if (answer.status === 401) return await this.#askWho(answer);
      if (answer.status === 403) {
        this.told({ phase: "forbidden", why: await answer.text() });
        await this.#signedIn();
        return "signed out";
      }
      if (answer.status !== 200) return (await answer.text()) || `status ${answer.status}`;
      await this.#read(answer.body.getReader(), () => {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
      });
      return "the master ended the connection";
    } catch (error) {
      return silence.signal.aborted ? "the master says nothing any more" : "the master cannot be reached";
    } finally {
      clearTimeout(timer);
    }
  }

  async #read(reader, alive) {
    const records = new Records((text) => {
      const event = JSON.parse(text);
      if (event.type === "SUBSCRIBED") {
        this.since = 0;
        this.told({ phase: "live" });
        this.#learnMasters();
      }
      this.event(event, text.length);
    });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      records.feed(value);
    }
  }

  async #askWho(answer) {
    const challenge = answer.headers.get("WWW-Authenticate") || "";
    this.told({
      phase: "sign-in",
      scheme: challenge.split(" ")[0] || "Basic",
      realm: (challenge.match(/realm="([^"]*)"/) || [])[1] || "",
      refused: this.authorization !== null,
    });
    await this.#signedIn();
    return "signed out";
  }

  #signedIn() {
    return new Promise((done) => { this.wake = done; }).finally(() => { this.wake = null; });
  }

  async #learnMasters() {
    try {
      const answer = await fetch(new URL("masters", this.base), {
        headers: this.headers({}), credentials: "omit" });
      if (answer.status === 200) this.masters = (await answer.json()).masters;
    } catch { /* it is asked again with the next subscription */ }
  }

  // The page of another master that leads, or of one that leads there; null while there is none.
  // Nothing of what they answer can be read here, but whether they do: who does not lead leads to
  // the page of the one that does, and a dead one answers nothing.
  async #nextLeader() {
    const own = new URL("./", this.base);
    const answer = await fetch(own, { redirect: "manual", credentials: "omit", cache: "no-store" })
      .catch(() => null);
    if (answer && answer.type !== "opaqueredirect") return null;
    for (const master of this.masters) {
      const page = new URL(`${own.protocol}//${master}/`);
      if (page.host !== own.host && await reaches(page)) return page.href;
    }
    const here = answer && (await reaches(own) || Date.now() - this.since > BELIEVE_MS);
    return here ? own.href : null;
  }
}

function reaches(page) {
  const late = AbortSignal.timeout ? AbortSignal.timeout(3000) : undefined;
  return fetch(page, { mode: "no-cors", credentials: "omit", cache: "no-store", signal: late })
    .then(() => true, () => false);
}
