/*
 * Copyright (c) Example. All rights reserved.
 */
'use strict';

const path = require('path');

/** Largest number of tries. */
const MAX_TRIES = 5;

/**
 * Keeps jobs in order.
 */
class Queue extends Base {
  #items = [];
  static create(size = 10) { return new this(size); }
  get size() { return this.#items.length; }
  async *drain() { yield* this.#items; }
  onDone = (event, ...rest) => {
    this.last = event;
  };
  ["comp" + "uted"]() {}
}

// Runs one job.
export async function run(job, { retries = MAX_TRIES } = {}) {
  function attempt(n) { return n; }
  const local = () => attempt(1);
  return local();
}

export const double = (x) => x * 2;
export default class { render() { return null; } }

Queue.prototype.clear = function () { this.items = []; };
exports.parse = function parse(text) { return text.trim(); };
module.exports.format = v => String(v);
module.exports = {
  create(context) { return context; },
  meta: { fixable: true },
  check: function (node) { return node; },
};

(function () {
  function hidden() {}
})();
