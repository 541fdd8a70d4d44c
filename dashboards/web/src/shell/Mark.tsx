/** The logo: a congestion window that grows, halves and grows again. */
export function Mark() {
  return (
    <svg
      width="20"
      height="16"
      viewBox="0 0 20 16"
      aria-hidden="true"
      fill="none"
      stroke="var(--accent)"
      strokeWidth="2"
    >
      <path d="M1 14 7 3v7l6-8v6l6-6" strokeLinejoin="round" strokeLinecap="round" />
    </svg>
  );
}
