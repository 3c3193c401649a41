package io.homeostat.desired.fleet;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.platform.GzipMembers;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.RecordCodec;
import io.homeostat.desired.state.StoredSet.Highest;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Base64;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads what was published, and refuses what nobody has signed who would have to. */
public final class SetReader {
    /** The longest set that is read, in bytes: that of one file of documents. */
    public static final int MAX_BYTES = 16 << 20;

    /** The most documents of a set. One may have several workloads. */
    public static final int MAX_DOCUMENTS = 10_000;

    /** Names and values in JSON: of a document its name and its text, and some hundred of what is around them. */
    private static final int MAX_TOKENS = 2 * MAX_DOCUMENTS + 1000;

    /** More than keys are in use at a time; each takes a moment to verify. */
    private static final int MOST_SIGNATURES = 16;

    private static final ByteString GZIP = ByteString.copyFrom(new byte[] {0x1F, (byte) 0x8B});

    /** Bytes of a file in which a set file shows that it is one: space and the name of its first field. */
    private static final int BEGINNING = 4096;

    private static final Pattern SET_FILE =
            Pattern.compile("\\s*\\{\\s*\"(" + SetFile.ENVELOPE + "|" + SetFile.DOCUMENTS + ")\"");
    private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");

    /** What it reads is checked when all of it is in memory, and short values take a hundred times as much of that. */
    private static final JsonMapper JSON = JsonMapper.builder(JsonFactory.builder()
                    .streamReadConstraints(StreamReadConstraints.builder()
                            .maxTokenCount(MAX_TOKENS)
                            .build())
                    .build())
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private final AgentConfig.SignedSets rules;
    private final TrustedKeys keys;

    /**
     * Goes by what a machine's configuration says.
     *
     * @throws KeyFailure when the keys can't be read that sets have to be signed with
     */
    public static SetReader of(AgentConfig.SignedSets rules) throws KeyFailure {
        return new SetReader(
                rules,
                TrustedKeys.read(
                        rules.keys().stream().map(Path::of).collect(ImmutableList.toImmutableList()),
                        "signatures.documents.keys"));
    }

    /** @param keys those that the rules name */
    public SetReader(AgentConfig.SignedSets rules, TrustedKeys keys) {
        this.rules = rules;
        this.keys = keys;
    }

    /** Returns the keys that sets may be signed with. */
    public TrustedKeys keys() {
        return keys;
    }

    /**
     * Reads one file: a set file, or YAML; compressed by gzip or not.
     *
     * @param name of the one document that YAML is
     */
    public PublishedSet read(ByteString file, String name) throws RefusedSet {
        ByteString content = unpacked(file);
        ByteString beginning = content.substring(0, Math.min(content.size(), BEGINNING));
        if (!SET_FILE.matcher(beginning.toStringUtf8()).lookingAt()) {
            return unsigned(ImmutableSortedMap.of(name, text(content, "it")));
        }
        JsonNode json = json(content, "it", "it is no set file");
        JsonNode named = required(json, SetFile.DOCUMENTS, JsonNode::isObject);
        if (named.size() > MAX_DOCUMENTS) {
            throw tooMany();
        }
        ImmutableSortedMap.Builder<String, String> documents = ImmutableSortedMap.naturalOrder();
        for (Map.Entry<String, JsonNode> document : named.properties()) {
            if (!document.getValue().isTextual()) {
                throw damaged("documents has something that is no text");
            }
            documents.put(document.getKey(), document.getValue().textValue());
        }
        JsonNode envelope = json.get(SetFile.ENVELOPE);
        return envelope == null ? unsigned(documents.buildOrThrow()) : enclosed(envelope, documents.buildOrThrow());
    }

    /**
     * Reads a directory in which each document is a file.
     *
     * @param files by their paths in it, {@link SetFile#ENVELOPE_PATH} among them if it is there; what is no document does not count
     */
    public PublishedSet readTree(Map<String, ByteString> files) throws RefusedSet {
        ImmutableSortedMap.Builder<String, String> documents = ImmutableSortedMap.naturalOrder();
        int count = 0;
        long size = 0;
        for (Map.Entry<String, ByteString> file : files.entrySet()) {
            if (SetFile.isDocument(file.getKey())) {
                count++;
                size += file.getValue().size();
                if (count > MAX_DOCUMENTS) {
                    throw tooMany();
                }
                documents.put(file.getKey(), text(file.getValue(), file.getKey()));
            }
        }
        if (size > MAX_BYTES) {
            throw tooLong();
        }
        ByteString envelope = files.get(SetFile.ENVELOPE_PATH);
        return envelope == null
                ? unsigned(documents.buildOrThrow())
                : enclosed(
                        json(
                                envelope,
                                SetFile.ENVELOPE_PATH,
                                SetFile.ENVELOPE_PATH + " is not what homeostat publish writes"),
                        documents.buildOrThrow());
    }

    /** The newest set of those that were taken, as far as it counts by the rules. */
    public SequenceFloor floor(Collection<Highest> taken) {
        return SequenceFloor.of(taken, keys.ids(), rules.require());
    }

    private PublishedSet unsigned(ImmutableSortedMap<String, String> documents) throws RefusedSet {
        if (rules.require()) {
            throw new RefusedSet(
                    "it is not signed, and signatures.documents.require is true; publish it with homeostat publish --key");
        }
        return PublishedSet.plain(documents);
    }

    private PublishedSet enclosed(JsonNode envelope, ImmutableSortedMap<String, String> documents) throws RefusedSet {
        String type = required(envelope, "payloadType", JsonNode::isTextual).textValue();
        if (!type.equals(SetFile.PAYLOAD_TYPE)) {
            throw damaged("what is signed is of another type than " + SetFile.PAYLOAD_TYPE);
        }
        byte[] payload = base64(required(envelope, "payload", JsonNode::isTextual));
        ImmutableList<String> signers = signers(required(envelope, "signatures", JsonNode::isArray), payload);
        JsonNode manifest =
                json(UnsafeByteOperations.unsafeWrap(payload), "its manifest", "its manifest can't be read");
        String fleet = required(manifest, "fleet", JsonNode::isTextual).textValue();
        if (!fleet.equals(rules.fleet())) {
            throw new RefusedSet("it was published for the fleet '" + fleet + "', and this machine is of '"
                    + rules.fleet() + "' (signatures.documents.fleet); publish it with --fleet " + rules.fleet());
        }
        long sequence =
                required(manifest, "sequence", JsonNode::canConvertToLong).longValue();
        if (sequence < 1 || sequence > SetFile.MAX_SEQUENCE) {
            throw damaged("its sequence is " + sequence);
        }
        Instant publishedAt = time(required(manifest, "publishedAt", JsonNode::isTextual));
        requireSame(checksums(required(manifest, SetFile.DOCUMENTS, JsonNode::isObject)), documents);
        return new PublishedSet(
                fleet, sequence, Optional.of(publishedAt), documents, signers, PublishedSet.digest(documents));
    }

    /** The trusted ones. Which key made a signature is tried: what the envelope says of it is not signed. */
    private ImmutableList<String> signers(JsonNode signatures, byte[] payload) throws RefusedSet {
        if (signatures.size() > MOST_SIGNATURES) {
            throw new RefusedSet("it has " + signatures.size() + " signatures, and at most " + MOST_SIGNATURES
                    + " are looked at; publish it again");
        }
        byte[] signed = SetFile.signed(payload);
        ImmutableSet.Builder<String> found = ImmutableSet.builder();
        for (JsonNode signature : signatures) {
            keys.signer(signed, base64(required(signature, "sig", JsonNode::isTextual)))
                    .ifPresent(found::add);
        }
        ImmutableList<String> signers = found.build().asList();
        boolean checked = rules.require() || !keys.isEmpty();
        if (signers.isEmpty() && checked && !signatures.isEmpty()) {
            throw new RefusedSet("none of its signatures is by a key of signatures.documents.keys;"
                    + " sign it with one of these, or configure the key that it was signed with");
        }
        if (signers.isEmpty() && rules.require()) {
            throw new RefusedSet(
                    "it is not signed, and signatures.documents.require is true; publish it with homeostat publish --key");
        }
        return signers;
    }

    private static ImmutableSortedMap<String, String> checksums(JsonNode documents) throws RefusedSet {
        ImmutableSortedMap.Builder<String, String> checksums = ImmutableSortedMap.naturalOrder();
        for (Map.Entry<String, JsonNode> document : documents.properties()) {
            String checksum = document.getValue().asText();
            if (!SetFile.isDocument(document.getKey())
                    || !SHA256.matcher(checksum).matches()) {
                throw damaged("its manifest names something that is no document");
            }
            checksums.put(document.getKey(), checksum);
        }
        return checksums.buildOrThrow();
    }

    private static void requireSame(
            ImmutableSortedMap<String, String> checksums, ImmutableSortedMap<String, String> documents)
            throws RefusedSet {
        for (String name : ImmutableSet.<String>builder()
                .addAll(checksums.keySet())
                .addAll(documents.keySet())
                .build()) {
            String text = documents.get(name);
            @Nullable
            String wrong = !checksums.containsKey(name)
                    ? "was added"
                    : text == null ? "is gone" : sameAs(checksums, name, text) ? null : "was changed";
            if (wrong != null) {
                throw new RefusedSet(name + " " + wrong
                        + " since the set was published; publish it again, nothing else may write there");
            }
        }
    }

    private static boolean sameAs(ImmutableSortedMap<String, String> checksums, String name, String text) {
        return PublishedSet.sha256(text).equals(checksums.get(name));
    }

    private static Instant time(JsonNode text) throws RefusedSet {
        try {
            return Instant.parse(text.textValue());
        } catch (DateTimeException e) {
            throw damaged("publishedAt is no time");
        }
    }

    private static byte[] base64(JsonNode text) throws RefusedSet {
        try {
            return Base64.getDecoder().decode(text.textValue());
        } catch (IllegalArgumentException e) {
            throw damaged("something of its envelope is not base64");
        }
    }

    private static JsonNode required(JsonNode parent, String key, Predicate<JsonNode> right) throws RefusedSet {
        JsonNode value = parent.get(key);
        if (value == null || !right.test(value)) {
            throw damaged("it has no proper '" + key + "'");
        }
        return value;
    }

    /** Parses without a copy of the whole text. */
    private static JsonNode json(ByteString utf8, String what, String otherwise) throws RefusedSet {
        requireUtf8(utf8, what);
        try (Reader text = new InputStreamReader(utf8.newInput(), StandardCharsets.UTF_8)) {
            return JSON.readTree(text);
        } catch (StreamConstraintsException e) {
            throw tooMany();
        } catch (JsonProcessingException e) {
            // Without its message, which quotes the text.
            throw new RefusedSet(otherwise + ": " + RecordCodec.noJson(e) + "; publish it again");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns whether a file has more than so many bytes, packed or once it is unpacked as far as it can be. */
    public static boolean isLonger(ByteString file, int bytes) {
        if (file.size() > bytes || !isPacked(file)) {
            return file.size() > bytes;
        }
        try (InputStream in = new GzipMembers(file.newInput())) {
            in.skipNBytes(bytes + 1L);
            return true;
        } catch (IOException e) {
            // Its end, or damage before it: there is no more that could be read.
            return false;
        }
    }

    private static boolean isPacked(ByteString file) {
        return file.size() > GZIP.size() && file.startsWith(GZIP);
    }

    private static ByteString unpacked(ByteString file) throws RefusedSet {
        ByteString content = file;
        if (isPacked(file)) {
            try (InputStream in = new GzipMembers(file.newInput())) {
                content = UnsafeByteOperations.unsafeWrap(in.readNBytes(MAX_BYTES + 1));
            } catch (IOException e) {
                throw new RefusedSet("it is compressed and damaged (" + e.getMessage() + "); publish it again");
            }
        }
        if (content.size() > MAX_BYTES) {
            throw tooLong();
        }
        return content;
    }

    private static String text(ByteString bytes, String what) throws RefusedSet {
        requireUtf8(bytes, what);
        return bytes.toStringUtf8();
    }

    private static void requireUtf8(ByteString bytes, String what) throws RefusedSet {
        if (!bytes.isValidUtf8()) {
            throw new RefusedSet(what + " is not UTF-8; save it as UTF-8 and publish it again");
        }
    }

    private static RefusedSet tooLong() {
        return new RefusedSet("it is longer than " + (MAX_BYTES >> 20) + " MiB; publish fewer or shorter documents");
    }

    private static RefusedSet tooMany() {
        return new RefusedSet("it has more than " + MAX_DOCUMENTS + " documents, or something else than these;"
                + " publish fewer, with several workloads in each");
    }

    private static RefusedSet damaged(String what) {
        return new RefusedSet(what + "; publish it again with homeostat publish");
    }
}
