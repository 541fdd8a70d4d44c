/** A handle for a time: moved by a pointer, or by the arrow keys (with Shift ten steps), Home and End. */
import { type CSSProperties, type KeyboardEvent, type PointerEvent, useRef } from "react";
import { snapped, step, written } from "../durations";

interface Props {
  label: string;
  value: number;
  least: number;
  most: number;
  /** The time that the width of the timeline represents. */
  lengthS: number;
  className: string;
  style?: CSSProperties;
  children?: string;
  onMove: (value: number) => void;
}

const ARROWS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
};

export function Handle({ label, value, least, most, lengthS, className, style, children, onMove }: Props) {
  const grabbed = useRef<{ x: number; value: number; width: number } | null>(null);
  const unit = step(lengthS / 100);
  const move = (wanted: number): void => {
    const next = Math.min(most, Math.max(least, snapped(wanted, unit)));
    if (next !== value) onMove(next);
  };
  const press = (event: KeyboardEvent): void => {
    const arrow = ARROWS[event.key];
    const to = event.key === "Home" ? least : event.key === "End" ? most : null;
    if (arrow === undefined && to === null) return;
    event.preventDefault();
    move(to ?? value + (arrow ?? 0) * unit * (event.shiftKey ? 10 : 1));
  };
  const take = (event: PointerEvent<HTMLElement>): void => {
    const width = event.currentTarget.closest("[data-time]")?.getBoundingClientRect().width ?? 0;
    if (event.button !== 0 || width === 0) return;
    event.preventDefault();
    event.currentTarget.focus();
    event.currentTarget.setPointerCapture(event.pointerId);
    grabbed.current = { x: event.clientX, value, width };
  };
  const drag = (event: PointerEvent): void => {
    const { current } = grabbed;
    if (current) move(current.value + ((event.clientX - current.x) / current.width) * lengthS);
  };
  const drop = (): void => {
    grabbed.current = null;
  };
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuenow={value}
      aria-valuetext={written(value)}
      title={`${label}: ${written(value)}`}
      className={className}
      style={style}
      onKeyDown={press}
      onPointerDown={take}
      onPointerMove={drag}
      onPointerUp={drop}
      onPointerCancel={drop}
    >
      {children}
    </div>
  );
}
