package io.homeostat.desired.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.hash.Hashing;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class ConfigTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @Test
    void noConfigurationHasAnEmptyHash() {
        assertEquals("", Config.hash(null));
    }

    @Test
    void aStringIsHashedAsItsUtf8() {
        assertEquals(
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
                Config.hash(new Config("abc", null)));
        assertEquals(
                Hashing.sha256().hashString("ä", StandardCharsets.UTF_8).toString(),
                Config.hash(new Config("ä", null)));
        assertEquals(
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Config.hash(new Config("", null)));
    }

    @Test
    void aStructureIsHashedAsItsSerializedStruct() throws Exception {
        byte[] serialized = Struct.newBuilder()
                .putFields("a", Value.newBuilder().setNumberValue(1).build())
                .build()
                .toByteArray();
        assertEquals(Hashing.sha256().hashBytes(serialized).toString(), Config.hash(struct("{\"a\": 1}")));
    }

    @Test
    void theOrderOfKeysDoesNotMatter() throws Exception {
        String hash = Config.hash(struct("{\"a\": {\"x\": 1, \"y\": [true, null]}, \"b\": \"c\", \"d\": 1.5}"));
        assertEquals(hash, Config.hash(struct("{\"d\": 1.5, \"b\": \"c\", \"a\": {\"y\": [true, null], \"x\": 1.0}}")));
        assertNotEquals(
                hash, Config.hash(struct("{\"a\": {\"x\": 1, \"y\": [null, true]}, \"b\": \"c\", \"d\": 1.5}")));
    }

    @Test
    void aStructureComesBackFromTheProtocolAsADocumentHasIt() throws Exception {
        String text = "{\"a\":{\"x\":1,\"y\":[true,null,-7,4294967296,1.5,\"\"]},\"b\":{}}";
        ObjectNode object = (ObjectNode) JSON.readTree(text);
        assertEquals(object, Structs.fromProto(Structs.toProto(object)));
        assertEquals(text, Structs.fromProto(Structs.toProto(object)).toString());
    }

    private static Config struct(String json) throws JsonProcessingException {
        return new Config(null, (ObjectNode) JSON.readTree(json));
    }
}
