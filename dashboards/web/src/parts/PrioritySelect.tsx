/** The priority of an experiment in words; the service knows -10 to 10. */
interface Props {
  id?: string;
  label?: string;
  className?: string | undefined;
  value: number;
  disabled?: boolean;
  onChange: (priority: number) => void;
}

const LEVELS: readonly (readonly [number, string])[] = [
  [10, "First of all (10)"],
  [5, "High (5)"],
  [0, "Normal (0)"],
  [-5, "Low (-5)"],
  [-10, "When nothing else waits (-10)"],
];

export function PrioritySelect({ id, label, className, value, disabled = false, onChange }: Props) {
  const levels = LEVELS.some(([level]) => level === value) ? LEVELS : [[value, String(value)] as const, ...LEVELS];
  return (
    <select
      id={id}
      aria-label={label}
      className={className}
      value={value}
      disabled={disabled}
      onChange={(event) => onChange(Number(event.target.value))}
    >
      {levels.map(([level, name]) => (
        <option key={level} value={level}>
          {name}
        </option>
      ))}
    </select>
  );
}
