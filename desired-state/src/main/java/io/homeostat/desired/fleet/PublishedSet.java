package io.homeostat.desired.fleet;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;

/**
 * Documents that were published together, as somebody says whose word counts here.
 *
 * @param fleet it was published for; empty when nothing says
 * @param sequence counts the sets of a fleet, with gaps; 0 when nothing says
 * @param documents texts by their names, which are relative paths
 * @param signers ids of the trusted keys that have signed it, see {@link io.homeostat.desired.signature.TrustedKeys#ids}
 * @param digest of the documents and their names
 */
public record PublishedSet(
        String fleet,
        long sequence,
        Optional<Instant> publishedAt,
        ImmutableSortedMap<String, String> documents,
        ImmutableList<String> signers,
        String digest) {

    /** Documents that nothing more is known of. */
    static PublishedSet plain(ImmutableSortedMap<String, String> documents) {
        return new PublishedSet("", 0, Optional.empty(), documents, ImmutableList.of(), digest(documents));
    }

    static String digest(ImmutableSortedMap<String, String> documents) {
        Hasher hasher = Hashing.sha256().newHasher();
        for (Map.Entry<String, String> document : documents.entrySet()) {
            hasher.putString(document.getKey(), StandardCharsets.UTF_8)
                    .putByte((byte) 0)
                    .putString(sha256(document.getValue()), StandardCharsets.UTF_8);
        }
        return hasher.hash().toString();
    }

    static String sha256(String text) {
        return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString();
    }
}
