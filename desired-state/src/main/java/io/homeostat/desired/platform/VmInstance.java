package io.homeostat.desired.platform;

/**
 * The instance that a state directory belongs to, as it was known when it was last claimed.
 *
 * @param id names the directory of the instance's state; stays whatever else becomes known of the same instance, since paths of what
 *     runs have it in them
 * @param machineId what the operating system said; empty when it said nothing
 * @param metadataId what the metadata server said; empty when it has never said anything
 * @param bootId of the boot in which it was claimed last
 */
public record VmInstance(String id, String machineId, String metadataId, String bootId) {
    VmInstance seenIn(String boot, String machine, String metadata) {
        return new VmInstance(
                id, machine.isEmpty() ? machineId : machine, metadata.isEmpty() ? metadataId : metadata, boot);
    }
}
