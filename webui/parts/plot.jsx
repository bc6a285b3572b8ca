// How many tasks were in which state, over the last minutes.

import { stateWord } from "../model/states.js";
import { amount } from "../lib/words.js";

const WIDTH = 600, HEIGHT = 120, SPAN = 600; // samples, one a second
const STATES = ["TASK_RUNNING", "TASK_STARTING", "TASK_STAGING", "TASK_KILLING", "TASK_UNREACHABLE"];

export function Plot({ samples }) {
  const shown = samples.slice(-SPAN);
  const sums = shown.map((s) => STATES.reduce((sum, state) => sum + (s.states[state] || 0), 0));
  const most = Math.max(1, ...sums);
  const x = (index) => WIDTH - (shown.length - 1 - index) * (WIDTH / (SPAN - 1));
  const y = (value) => HEIGHT - (value / most) * (HEIGHT - 6);
  const below = new Array(shown.length).fill(0);
  const areas = STATES.map((state) => {
    const low = [...below];
    shown.forEach((s, i) => { below[i] += s.states[state] || 0; });
    const top = below.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`);
    const bottom = low.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).reverse();
    return [state, [...top, ...bottom].join(" ")];
  });
  const last = shown[shown.length - 1];
  const said = last ? STATES.filter((state) => last.states[state])
    .map((state) => `${amount(last.states[state])} ${stateWord(state)}`).join(", ") : "";
  return (
    <figure className="plot">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img"
           aria-label={`Tasks over the last ten minutes; now ${said || "none"}, at most ${amount(most)}`}>
        {areas.map(([state, points]) => <polygon key={state} className={state.toLowerCase()} points={points} />)}
      </svg>
      <figcaption>
        <span>Tasks that are not over, the last ten minutes (top: {amount(most)})</span>
        {STATES.map((state) => <span key={state} className="legend"><i className={state.toLowerCase()} />{stateWord(state)}</span>)}
      </figcaption>
    </figure>
  );
}
