import { GrantDialog } from "./grant-dialog";
import { RemoveDialog } from "./remove-dialog";
import { RevokeDialog } from "./revoke-dialog";
import { RotateDialog } from "./rotate-dialog";
import type { Deed } from "./secret-panel";
import { SetDialog } from "./set-dialog";

interface Props {
  deed: Deed;
  begin: (deed: Deed) => void;
  close: (said?: string) => void;
}

/** DeedDialog is the dialog for what is about to be done. */
export function DeedDialog({ deed, begin, close }: Props) {
  switch (deed.kind) {
    case "new":
      return <SetDialog close={close} />;
    case "set":
      return <SetDialog secret={deed.secret} close={close} />;
    case "grant":
      return <GrantDialog secret={deed.secret} grant={deed.grant} close={close} />;
    case "revoke":
      return (
        <RevokeDialog secret={deed.secret.name} server={deed.grant.server} weaker={deed.grant.weaker === true} close={close} />
      );
    case "rotate":
      return <RotateDialog secret={deed.secret} next={() => begin({ kind: "set", secret: deed.secret })} close={() => close()} />;
    case "remove":
      return <RemoveDialog secret={deed.secret} close={close} />;
  }
}
