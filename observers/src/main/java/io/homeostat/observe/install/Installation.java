package io.homeostat.observe.install;

/**
 * A revision that was completely unpacked on this machine.
 *
 * @param directory its name
 * @param key of the archive, see {@link io.homeostat.desired.model.Source#archiveKey}
 * @param sha256 of the archive, whether declared or not
 * @param damage which file differs from what was unpacked, for people; empty when none is known to
 */
public record Installation(String directory, String revision, String key, String sha256, String damage) {
    public Installation(String directory, String revision, String key, String sha256) {
        this(directory, revision, key, sha256, "");
    }

    public Installation withDamage(String words) {
        return new Installation(directory, revision, key, sha256, words);
    }

    public boolean isWhole() {
        return damage.isEmpty();
    }

    /**
     * Whether this is what a declaration with this archive key asks for, damaged or not. A checksum that was declared later makes no
     * difference.
     */
    public boolean satisfies(String wantedRevision, String wantedKey) {
        return revision.equals(wantedRevision) && (key.equals(wantedKey) || sha256.equals(wantedKey));
    }
}
