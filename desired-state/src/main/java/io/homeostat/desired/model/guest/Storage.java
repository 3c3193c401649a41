package io.homeostat.desired.model.guest;

import com.google.common.collect.ImmutableList;
import io.homeostat.desired.model.schema.Fields.Doc;
import io.homeostat.desired.model.schema.Fields.Matches;
import io.homeostat.desired.model.schema.Fields.Range;
import org.jspecify.annotations.Nullable;

/** Something that the agent of a guest mounts there. */
@Doc("Something that the guest's agent mounts in the guest.")
public record Storage(
        @Doc("How the guest gets it, in the agent's words: virtio-fs, 9p, blk, scsi, ephemeral, local.") @Range(min = 1)
        String driver,

        @Doc("What is mounted, as the driver takes it: a tag, a device, a path.") @Nullable
        String source,

        @Doc("The type of the file system, such as virtiofs, ext4 or tmpfs.") @Nullable
        String fstype,

        @Doc("Where it is mounted in the guest; absolute.")
        @Matches(value = ContainerSettings.BELOW_ROOT, words = ContainerSettings.BELOW_ROOT_WORDS)
        String mountPoint,

        @Doc("Options of the mount, such as ro or size=64m.")
        ImmutableList<String> options) {
    /** All of it, in an order that stays. */
    String words() {
        return String.join(
                "\u0000",
                driver,
                String.valueOf(source),
                String.valueOf(fstype),
                mountPoint,
                String.join("\u0000", options));
    }
}
