package io.homeostat.observe;

/**
 * A revision whose files are complete on this machine.
 *
 * @param directory name of its directory
 * @param key of the archive that was unpacked, see {@link ArchiveKey}
 * @param sha256 of that archive, whether it was declared or not
 */
public record Installation(String directory, String revision, String key, String sha256) {
    /** Whether this is what a declaration with this archive key asks for; a checksum that was declared later changes nothing. */
    public boolean satisfies(String wantedRevision, String wantedKey) {
        return revision.equals(wantedRevision) && (key.equals(wantedKey) || sha256.equals(wantedKey));
    }
}
