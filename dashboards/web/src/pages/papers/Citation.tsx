/** A citation, in which a DOI is a link. */
const DOI = /doi:(10\.\d{4,9}\/\S*[^\s.;,])/;

export function Citation({ text }: { text: string }) {
  const [before, doi, after] = text.split(DOI);
  if (doi === undefined) return <>{text}</>;
  return (
    <>
      {before}
      <a href={`https://doi.org/${doi}`} rel="noreferrer" target="_blank">
        doi:{doi}
      </a>
      {after}
    </>
  );
}
