import * as React from "react";

interface Props { label: string; onClick?: (event: React.MouseEvent) => void; }

/** A button with a label. */
export const Button = ({ label, onClick }: Props) => <button onClick={onClick}>{label}</button>;

export default function Panel({ children }: React.PropsWithChildren<Props>): JSX.Element {
  const [open, setOpen] = React.useState(false);
  function toggle() { setOpen(!open); }
  return <section onClick={toggle}>{children}</section>;
}

export class Legacy extends React.Component<Props> {
  state = { count: 0 };
  handle = async (): Promise<void> => {};
  render() { return <Button label="x" />; }
}
