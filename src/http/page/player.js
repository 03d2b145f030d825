// Plays a search: so many events a second, in step with the screen.

/** From one event in two seconds to thousands a second. */
export const SPEEDS = [0.5, 1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1000, 2000, 4000, 8000];

export class Player {
  #frame = 0;
  #last = 0;
  #owed = 0;
  /** The place in SPEEDS. */
  speed = 3;

  /**
   * @param {(most: number) => void} advance takes so many events at most, fewer where there are no more at hand
   */
  constructor(advance) {
    this.advance = advance;
  }

  get playing() {
    return this.#frame !== 0;
  }

  play() {
    if (this.playing) return;
    this.#owed = 1; // the first event comes at once
    this.#last = performance.now();
    this.#frame = requestAnimationFrame((now) => this.#tick(now));
  }

  pause() {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
  }

  /** @param {number} now */
  #tick(now) {
    this.#frame = requestAnimationFrame((later) => this.#tick(later));
    // After a page was hidden nothing is made up for.
    const passed = Math.min(0.1, Math.max(0, now - this.#last) / 1000);
    this.#last = now;
    this.#owed += passed * (SPEEDS[this.speed] ?? 1);
    const whole = Math.floor(this.#owed);
    this.#owed -= whole;
    if (whole > 0) this.advance(whole);
  }
}
