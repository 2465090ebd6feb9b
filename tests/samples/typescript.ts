import { Money } from "./money";

/** How a price is shown. */
export type Format = "short" | "long";

export interface Priced<T = Money> extends Base {
  price: T;
  /** Applies a discount. */
  discount(percent: number, reason?: string): T;
}

export enum Level { Low, High }

export namespace Shop {
  export const OPEN = true;
  export function close(): void {}
}

@sealed
@Component({ selector: "cart" })
export abstract class Cart<T> implements Priced<T> {
  private lines: T[] = [];
  constructor(private readonly store: Map<string, T[]>, ...rest: T[]) {}

  // Empties the cart.
  @HostListener("click", ["$event"])
  async clear(force = false): Promise<void> { this.lines = []; }
  abstract total(): number;
  protected static readonly make = <U,>(value: U): U => value;
}

export function parse(text: string): Cart<string>;
export function parse(text: string, strict?: boolean): Cart<string> {
  class Local { method() {} }
  return new Local() as any;
}

declare function fetchAll(urls: string[]): Promise<Response[]>;
declare module "virtual" { const value: number; }
export const useCart = (id: number): Cart<string> => parse(String(id));
export const LIMITS = { max: 10 } as const;
export default function () { return 1; }
