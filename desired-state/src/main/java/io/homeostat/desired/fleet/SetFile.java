package io.homeostat.desired.fleet;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.primitives.Bytes;
import io.homeostat.desired.signature.SigningKey;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Base64;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.zip.GZIPOutputStream;

/**
 * A set as it is published: an envelope (DSSE, github.com/secure-systems-lab/dsse) with a manifest of fleet, sequence and the checksum
 * of each document, beside the documents. {@link SetReader} reads it.
 */
public final class SetFile {
    /** Where the envelope is in a directory whose documents are files of their own. */
    public static final String ENVELOPE_PATH = ".homeostat/set.json";

    /** The largest sequence, so that there is always a next one to count to. */
    public static final long MAX_SEQUENCE = 1L << 62;

    static final String PAYLOAD_TYPE = "application/vnd.homeostat.set+json";
    static final String ENVELOPE = "envelope";
    static final String DOCUMENTS = "documents";

    private static final int LONGEST_PATH = 1024;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern DOCUMENT =
            Pattern.compile("([^./\\p{Cntrl}][^/\\p{Cntrl}]*/)*[^./\\p{Cntrl}][^/\\p{Cntrl}]*\\.ya?ml");

    private final PublishedSet set;
    private final long sequence;
    private final ObjectNode envelope;

    private SetFile(PublishedSet set, long sequence, ObjectNode envelope) {
        this.set = set;
        this.sequence = sequence;
        this.envelope = envelope;
    }

    /**
     * Puts a set together.
     *
     * @param key that signs it; empty: nobody does
     */
    public static SetFile of(
            String fleet,
            long sequence,
            Instant publishedAt,
            ImmutableSortedMap<String, String> documents,
            Optional<SigningKey> key) {
        ObjectNode manifest = JSON.createObjectNode()
                .put("fleet", fleet)
                .put("sequence", sequence)
                .put("publishedAt", publishedAt.toString());
        ObjectNode checksums = manifest.putObject(DOCUMENTS);
        documents.forEach((name, text) -> checksums.put(name, PublishedSet.sha256(text)));
        byte[] payload = manifest.toString().getBytes(StandardCharsets.UTF_8);
        ObjectNode envelope =
                JSON.createObjectNode().put("payloadType", PAYLOAD_TYPE).put("payload", base64(payload));
        envelope.putArray("signatures");
        key.ifPresent(signing -> envelope.withArray("signatures")
                .addObject()
                .put("keyid", signing.id())
                .put("sig", base64(signing.sign(signed(payload)))));
        return new SetFile(PublishedSet.plain(documents), sequence, envelope);
    }

    /** Whether a file of this path in a directory is a document of its set. */
    public static boolean isDocument(String path) {
        return path.length() <= LONGEST_PATH && DOCUMENT.matcher(path).matches();
    }

    public long sequence() {
        return sequence;
    }

    /** What a directory has of it, by paths in it: documents, and the envelope. */
    public ImmutableSortedMap<String, String> files() {
        return ImmutableSortedMap.<String, String>naturalOrder()
                .putAll(set.documents())
                .put(ENVELOPE_PATH, envelope())
                .buildOrThrow();
    }

    /** The envelope alone, as {@link #ENVELOPE_PATH} has it. */
    public String envelope() {
        return envelope.toPrettyString() + "\n";
    }

    /** Envelope and documents, in UTF-8. */
    public byte[] bytes() {
        ObjectNode file = JSON.createObjectNode();
        file.set(ENVELOPE, envelope);
        ObjectNode texts = file.putObject(DOCUMENTS);
        set.documents().forEach(texts::put);
        return (file + "\n").getBytes(StandardCharsets.UTF_8);
    }

    /** The same, compressed by gzip. */
    public byte[] compressed() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(out)) {
            gzip.write(bytes());
        } catch (IOException impossible) {
            throw new UncheckedIOException("memory can't be written to", impossible);
        }
        return out.toByteArray();
    }

    /** What is signed: DSSE's pre-authentication encoding, by which no other payload type can mean the same. */
    static byte[] signed(byte[] payload) {
        String head = "DSSEv1 " + PAYLOAD_TYPE.length() + " " + PAYLOAD_TYPE + " " + payload.length + " ";
        return Bytes.concat(head.getBytes(StandardCharsets.UTF_8), payload);
    }

    private static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }
}
