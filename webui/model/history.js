// How many tasks were in which state, once a second, for the plot: the last ten minutes.

import { isOver } from "./states.js";

const SAMPLES_MAX = 600;

export class History {
  constructor() {
    this.samples = []; // {time, states}
  }

  note(counts, now) {
    const states = {};
    for (const [state, count] of Object.entries(counts))
      if (count && !isOver(state)) states[state] = count;
    this.samples.push({ time: now, states });
    if (this.samples.length > SAMPLES_MAX) this.samples.shift();
  }
}
