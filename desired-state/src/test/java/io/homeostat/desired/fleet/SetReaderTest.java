package io.homeostat.desired.fleet;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.KeyPairInPem;
import io.homeostat.desired.signature.TrustedKeys;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class SetReaderTest {
    private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
    private static final ImmutableSortedMap<String, String> DOCUMENTS =
            ImmutableSortedMap.of("db/main.yml", "kind: Process\n", "web.yaml", "kind: Plugin # grün\n");

    private static final String FOREIGN = "none of its signatures is by a key of signatures.documents.keys;"
            + " sign it with one of these, or configure the key that it was signed with";

    private final KeyPairInPem key = KeyPairInPem.withNewKey();
    private final KeyPairInPem stranger = KeyPairInPem.withNewKey();

    @Test
    void whatIsPublishedIsWhatIsRead() throws Exception {
        SetFile file = signed();
        PublishedSet expected = new PublishedSet(
                "default",
                42,
                Optional.of(NOW),
                DOCUMENTS,
                KeyPairInPem.trusted(key).ids().asList(),
                PublishedSet.digest(DOCUMENTS));

        assertEquals(expected, strict().read(ByteString.copyFrom(file.bytes()), "set"));
        assertEquals(expected, strict().read(ByteString.copyFrom(file.compressed()), "set"));
        assertEquals(expected, strict().readTree(tree(file)));
        assertTrue(file.compressed().length < file.bytes().length);
    }

    @Test
    void anybodysWordCountsWhereNoSignatureIsAskedFor() throws Exception {
        SetReader anybody = new SetReader(rules(false), TrustedKeys.NONE);

        assertEquals(
                new PublishedSet(
                        "",
                        0,
                        Optional.empty(),
                        ImmutableSortedMap.of("set.yaml", "a: b\n"),
                        ImmutableList.of(),
                        PublishedSet.digest(ImmutableSortedMap.of("set.yaml", "a: b\n"))),
                anybody.read(utf8("a: b\n"), "set.yaml"));
        assertEquals(DOCUMENTS, anybody.readTree(plainTree()).documents());
        assertEquals(
                42, anybody.read(ByteString.copyFrom(unsigned().bytes()), "set").sequence());
        assertEquals(
                ImmutableList.of(),
                anybody.read(ByteString.copyFrom(signed().bytes()), "set").signers(),
                "nobody could check");
        assertEquals(
                DOCUMENTS.headMap("e", false),
                anybody.read(utf8("{\"documents\": {\"db/main.yml\": \"kind: Process\\n\"}}"), "set")
                        .documents());
    }

    @Test
    void whatIsNoDocumentInADirectoryDoesNotCount() throws Exception {
        Map<String, ByteString> files = plainTree();
        files.put("README.md", ByteString.copyFrom(new byte[] {(byte) 0xFF}));
        files.put(".github/a.yaml", utf8("x"));
        files.put("db/.hidden.yaml", utf8("x"));
        files.put("/absolute.yaml", utf8("x"));
        files.put("a/../b.yaml", utf8("x"));
        files.put("a".repeat(1100) + ".yaml", utf8("x"));

        assertEquals(
                DOCUMENTS,
                new SetReader(rules(false), TrustedKeys.NONE).readTree(files).documents());
    }

    @Test
    void aSignatureIsAskedForWhereItIsRequired() {
        String unsigned =
                "it is not signed, and signatures.documents.require is true; publish it with homeostat publish --key";
        assertRefused(unsigned, () -> strict().read(utf8("a: b\n"), "set.yaml"));
        assertRefused(unsigned, () -> strict().read(utf8("{\"documents\": {}}"), "set"));
        assertRefused(unsigned, () -> strict().readTree(plainTree()));
        assertRefused(
                unsigned, () -> strict().read(ByteString.copyFrom(unsigned().bytes()), "set"));
    }

    @Test
    void aForeignSignatureIsRefusedEvenWhereNoneIsRequired() {
        SetFile file = SetFile.of("default", 42, NOW, DOCUMENTS, Optional.of(stranger.signing()));

        assertRefused(FOREIGN, () -> strict().read(ByteString.copyFrom(file.bytes()), "set"));
        assertRefused(
                FOREIGN,
                () -> new SetReader(rules(false), KeyPairInPem.trusted(key))
                        .read(ByteString.copyFrom(file.bytes()), "set"));
        assertRefused(
                FOREIGN,
                () -> new SetReader(rules(true), TrustedKeys.NONE).read(ByteString.copyFrom(file.bytes()), "set"));
    }

    @Test
    void moreSignaturesThanAnybodyMakesAreNotLookedAt() throws Exception {
        ObjectNode set = (ObjectNode) new ObjectMapper().readTree(signed().bytes());
        ArrayNode signatures = (ArrayNode) set.path("envelope").path("signatures");
        JsonNode one = signatures.get(0);
        while (signatures.size() < 16) {
            signatures.add(one);
        }
        assertEquals(42, strict().read(utf8(set.toString()), "set").sequence());
        signatures.add(one);
        assertRefused(
                "it has 17 signatures, and at most 16 are looked at; publish it again",
                () -> strict().read(utf8(set.toString()), "set"));
    }

    /** The signature is good, and of something else. */
    @Test
    void noByteOfTheManifestCanBeChanged() {
        String payload = payload(signed());
        String changed = Base64.getEncoder()
                .encodeToString(bytes(new String(Base64.getDecoder().decode(payload), StandardCharsets.UTF_8)
                        .replace("\"sequence\":42", "\"sequence\":43")));

        assertNotEquals(payload, changed);
        assertRefused(FOREIGN, () -> strict().read(utf8(text(signed()).replace(payload, changed)), "set"));
    }

    @Test
    void noDocumentCanBeChangedAddedOrTakenAway() {
        Map<String, ByteString> changed = tree(signed());
        changed.put("web.yaml", utf8("kind: Plugin\n"));
        assertRefused(
                "web.yaml was changed since the set was published; publish it again, nothing else may write there",
                () -> strict().readTree(changed));

        Map<String, ByteString> added = tree(signed());
        added.put("more.yaml", utf8(""));
        assertRefusal("more.yaml was added ", () -> strict().readTree(added));

        Map<String, ByteString> removed = tree(unsigned());
        removed.remove("db/main.yml");
        assertRefusal("db/main.yml is gone ", () -> new SetReader(rules(false), TrustedKeys.NONE).readTree(removed));
    }

    @Test
    void aSetOfAnotherFleetIsRefused() {
        SetFile other = SetFile.of("staging", 42, NOW, DOCUMENTS, Optional.of(key.signing()));

        assertRefused(
                "it was published for the fleet 'staging', and this machine is of 'default' (signatures.documents.fleet);"
                        + " publish it with --fleet default",
                () -> strict().read(ByteString.copyFrom(other.bytes()), "set"));
    }

    /** What a signer says of itself is not signed: that another key's id stands there changes nothing. */
    @Test
    void whoSignedIsFoundOutAndNotBelieved() throws Exception {
        String ours = key.signing().id();
        String lie = text(signed()).replace(ours, stranger.signing().id());

        assertEquals(ImmutableList.of(ours), strict().read(utf8(lie), "set").signers());
    }

    @Test
    void whatIsDamagedIsSaidWithoutAWordOfIt() throws Exception {
        String publish = "; publish it again with homeostat publish";
        String set = text(unsigned());
        SetReader anybody = new SetReader(rules(false), TrustedKeys.NONE);
        assertRefused(
                "it is no set file: no JSON at line 1, column 23; publish it again",
                () -> anybody.read(utf8("{\"envelope\": {}, \"pass"), "set"));
        assertRefused("it has no proper 'documents'" + publish, () -> anybody.read(utf8("{\"envelope\": {}}"), "set"));
        assertRefused(
                "documents has something that is no text" + publish,
                () -> anybody.read(utf8("{\"documents\": {\"a.yaml\": 1}}"), "set"));
        assertRefused(
                "what is signed is of another type than application/vnd.homeostat.set+json" + publish,
                () -> anybody.read(utf8(set.replace("vnd.homeostat", "vnd.other")), "set"));
        assertRefused(
                "something of its envelope is not base64" + publish,
                () -> anybody.read(utf8(set.replace("\"payload\":\"", "\"payload\":\"*")), "set"));
        assertRefused("its sequence is 0" + publish, () -> anybody.read(ByteString.copyFrom(of(0, "web.yaml")), "set"));
        assertRefused(
                "its sequence is -1" + publish, () -> anybody.read(ByteString.copyFrom(of(-1, "web.yaml")), "set"));
        assertRefused(
                "its manifest names something that is no document" + publish,
                () -> anybody.read(ByteString.copyFrom(of(1, "../web.yaml")), "set"));
        assertRefused(
                "it is not UTF-8; save it as UTF-8 and publish it again",
                () -> anybody.read(ByteString.copyFrom(new byte[] {'a', (byte) 0xFF}), "set"));
        assertRefused(
                ".homeostat/set.json is not what homeostat publish writes: no JSON at line 1, column 1; publish it again",
                () -> anybody.readTree(Map.of(SetFile.ENVELOPE_PATH, utf8("<<<<<<< HEAD\n"))));
        byte[] cut = Arrays.copyOf(unsigned().compressed(), 40);
        assertRefused(
                "it is compressed and damaged (Unexpected end of ZLIB input stream); publish it again",
                () -> anybody.read(ByteString.copyFrom(cut), "set"));
    }

    @Test
    void whatIsTooLongIsRefusedBeforeItFillsTheMemory() throws Exception {
        String tooLong = "it is longer than 16 MiB; publish fewer or shorter documents";
        SetReader anybody = new SetReader(rules(false), TrustedKeys.NONE);
        byte[] large = new byte[SetReader.MAX_BYTES + 1];
        ByteArrayOutputStream bomb = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bomb)) {
            for (int i = 0; i < 4; i++) {
                gzip.write(large);
            }
        }

        assertRefused(tooLong, () -> anybody.read(ByteString.copyFrom(large), "set"));
        assertRefused(tooLong, () -> anybody.read(ByteString.copyFrom(bomb.toByteArray()), "set"));
        assertRefused(tooLong, () -> anybody.readTree(Map.of("a.yaml", ByteString.copyFrom(large))));
    }

    /** Before a signature of it is looked at: all of it has to be in memory for that. */
    @Test
    void ofMoreThanASetHasNothingIsRead() throws Exception {
        String tooMany = "it has more than 10000 documents, or something else than these; publish fewer, with several"
                + " workloads in each";
        ImmutableSortedMap<String, String> most = documents(SetReader.MAX_DOCUMENTS);
        SetFile largest = SetFile.of("default", 42, NOW, most, Optional.of(key.signing()));
        assertEquals(
                most, strict().read(ByteString.copyFrom(largest.bytes()), "set").documents());
        assertEquals(most, strict().readTree(tree(largest)).documents());

        SetFile larger =
                SetFile.of("default", 42, NOW, documents(SetReader.MAX_DOCUMENTS + 1), Optional.of(key.signing()));
        assertRefused(tooMany, () -> strict().read(ByteString.copyFrom(larger.bytes()), "set"));
        assertRefused(tooMany, () -> strict().readTree(tree(larger)));
        String values = "{\"documents\": [" + "0,".repeat(30_000) + "0]}";
        assertRefused(tooMany, () -> strict().read(utf8(values), "set"));
        assertRefused(tooMany, () -> strict().readTree(Map.of(SetFile.ENVELOPE_PATH, utf8(values))));
    }

    private static ImmutableSortedMap<String, String> documents(int count) {
        return IntStream.range(0, count)
                .boxed()
                .collect(ImmutableSortedMap.toImmutableSortedMap(
                        Comparator.naturalOrder(), i -> i + ".yaml", i -> "a: " + i + "\n"));
    }

    @Test
    void theDigestIsThatOfNamesAndTexts() {
        assertEquals(
                PublishedSet.digest(DOCUMENTS),
                PublishedSet.digest(ImmutableSortedMap.<String, String>naturalOrder()
                        .putAll(DOCUMENTS)
                        .buildOrThrow()));
        assertNotEquals(
                PublishedSet.digest(DOCUMENTS),
                PublishedSet.digest(
                        ImmutableSortedMap.of("a.yaml", "kind: Process\n", "web.yaml", "kind: Plugin # grün\n")));
    }

    /** The example of the protocol's text, with our type. */
    @Test
    void whatIsSignedSaysItsTypeAndLengths() {
        assertArrayEquals(
                bytes("DSSEv1 34 application/vnd.homeostat.set+json 11 hello world"),
                SetFile.signed(bytes("hello world")));
    }

    @Test
    void aKeysIdIsThatOfItsOtherHalf() {
        assertEquals(
                ImmutableSet.of(key.signing().id()), KeyPairInPem.trusted(key).ids());
        assertFalse(KeyPairInPem.trusted(stranger).ids().contains(key.signing().id()));
    }

    private SetReader strict() {
        return new SetReader(rules(true), KeyPairInPem.trusted(stranger(), key));
    }

    /** A second key that is trusted, too, as while keys are exchanged. */
    private static KeyPairInPem stranger() {
        return KeyPairInPem.withNewKey();
    }

    private static AgentConfig.SignedSets rules(boolean require) {
        return new AgentConfig.SignedSets(require, ImmutableList.of(), "default");
    }

    private SetFile signed() {
        return SetFile.of("default", 42, NOW, DOCUMENTS, Optional.of(key.signing()));
    }

    private static SetFile unsigned() {
        return SetFile.of("default", 42, NOW, DOCUMENTS, Optional.empty());
    }

    private static byte[] of(long sequence, String name) {
        return SetFile.of("default", sequence, NOW, ImmutableSortedMap.of(name, ""), Optional.empty())
                .bytes();
    }

    private static Map<String, ByteString> tree(SetFile file) {
        Map<String, ByteString> files = new HashMap<>();
        file.files().forEach((name, text) -> files.put(name, utf8(text)));
        return files;
    }

    private static Map<String, ByteString> plainTree() {
        Map<String, ByteString> files = new HashMap<>();
        DOCUMENTS.forEach((name, text) -> files.put(name, utf8(text)));
        return files;
    }

    private static String payload(SetFile file) {
        String text = text(file);
        int start = text.indexOf("\"payload\":\"") + "\"payload\":\"".length();
        return text.substring(start, text.indexOf('"', start));
    }

    private static String text(SetFile file) {
        return new String(file.bytes(), StandardCharsets.UTF_8);
    }

    private static ByteString utf8(String text) {
        return ByteString.copyFromUtf8(text);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void assertRefusal(String beginning, Executable reading) {
        String message = String.valueOf(assertThrows(RefusedSet.class, reading).getMessage());
        assertEquals(beginning, message.substring(0, beginning.length()));
    }

    private static void assertRefused(String message, Executable reading) {
        assertEquals(message, assertThrows(RefusedSet.class, reading).getMessage());
    }
}
