/**
 * The frame of a table whose rows have one cell for each title.
 *
 * The frame scrolls sideways and takes the keyboard. A narrow page shows the title beside each cell (`data-title`). Lists of the state API,
 * whose titles sort, have their own (`list-view.tsx`).
 */
import type { ComponentChildren } from "preact";

interface RowTableProps {
  /** Names the table for readers of screens. */
  readonly label: string;
  readonly titles: readonly string[];
  readonly rows: readonly { readonly key: string; readonly cells: readonly ComponentChildren[] }[];
}

export function RowTable({ label, titles, rows }: RowTableProps): ComponentChildren {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {titles.map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, at) => (
                <td key={titles[at]} data-title={titles[at]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
