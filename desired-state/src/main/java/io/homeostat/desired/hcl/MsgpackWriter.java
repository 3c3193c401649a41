package io.homeostat.desired.hcl;

import io.homeostat.desired.hcl.language.HclException;
import io.homeostat.desired.hcl.language.HclNumber;
import io.homeostat.desired.hcl.language.HclType;
import io.homeostat.desired.hcl.language.HclValue;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.OptionalLong;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Values in the form that Nomad sends them in. */
final class MsgpackWriter {
    /** More than Nomad's own limits on a job. */
    private static final int MOST_BYTES = 32 << 20;

    private final MessageBufferPacker packer;

    private MsgpackWriter(MessageBufferPacker packer) {
        this.packer = packer;
    }

    /**
     * @throws HclException when something in it is not known, or it is too long
     */
    static byte[] write(HclValue value) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            new MsgpackWriter(packer).any(value);
            return packer.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write to memory", e);
        }
    }

    private void any(HclValue value) throws IOException {
        if (packer.getTotalWrittenBytes() > MOST_BYTES) {
            throw HclException.of("becomes more than " + MOST_BYTES + " bytes: write it shorter");
        }
        if (!value.isKnown()) {
            throw HclException.of(
                    "mixes null with lists or maps where all elements must have one type: leave the null out");
        }
        if (value.isNull()) {
            packer.packNil();
            return;
        }
        switch (value.type()) {
            case HclType.Primitive.STRING -> text(value.text());
            case HclType.Primitive.BOOL -> packer.packBoolean(value.isTrue());
            case HclType.Primitive.NUMBER -> number(value.number());
            case HclType.MapOf _ -> entries(value);
            case HclType.ObjectOf _ -> entries(value);
            case HclType.Special _ -> throw HclException.of("has a value of no type");
            default -> {
                packer.packArrayHeader(value.size());
                for (HclValue each : value.elements()) {
                    any(each);
                }
            }
        }
    }

    private void entries(HclValue value) throws IOException {
        packer.packMapHeader(value.size());
        for (Map.Entry<String, HclValue> each : value.entries().entrySet()) {
            text(each.getKey());
            any(each.getValue());
        }
    }

    private void text(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        packer.packRawStringHeader(bytes.length);
        packer.writePayload(bytes);
    }

    private void number(HclNumber number) throws IOException {
        OptionalLong whole = number.exactLong();
        if (whole.isPresent()) {
            packer.packLong(whole.getAsLong());
            return;
        }
        Double fraction = number.exactFraction();
        if (fraction != null) {
            packer.packDouble(fraction);
        } else {
            text(number.text());
        }
    }
}
