package io.homeostat.observe.health;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.WireFormat;
import io.grpc.MethodDescriptor.Marshaller;
import io.homeostat.desired.model.VisibleText;
import io.homeostat.proto.plugin.GuestAgentPluginGrpc;
import io.homeostat.proto.plugin.Status;
import java.io.IOException;
import java.io.InputStream;

/**
 * Reads a plugin's answer to GetStatus and keeps only so much of its results as people read. A message of a few megabytes has room for a
 * million of them, which would be stored, masked, shown and sent to the control plane.
 */
final class StatusMarshaller implements Marshaller<Status> {
    static final int MOST_RESULTS = 100;

    /** Characters of a result. */
    static final int LONGEST = 500;

    /** Characters of all results. */
    static final int MOST_CHARACTERS = 16_000;

    private static final int CODE = Status.CODE_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_VARINT;
    private static final int RESULT = Status.RESULTS_FIELD_NUMBER << 3 | WireFormat.WIRETYPE_LENGTH_DELIMITED;

    @Override
    public InputStream stream(Status value) {
        return GuestAgentPluginGrpc.getGetStatusMethod().streamResponse(value);
    }

    @Override
    public Status parse(InputStream stream) {
        try {
            return read(CodedInputStream.newInstance(stream));
        } catch (IOException e) {
            throw io.grpc.Status.INTERNAL
                    .withDescription("the answer is no Status of the plugin protocol")
                    .withCause(e)
                    .asRuntimeException();
        }
    }

    private static Status read(CodedInputStream in) throws IOException {
        Status.Builder status = Status.newBuilder();
        int room = MOST_CHARACTERS;
        int leftOut = 0;
        for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
            if (tag == CODE) {
                status.setCode(in.readInt32());
            } else if (tag != RESULT) {
                in.skipField(tag);
            } else if (status.getResultsCount() < MOST_RESULTS && room > 0) {
                String result = VisibleText.cut(in.readStringRequireUtf8(), LONGEST);
                room -= result.length();
                status.addResults(result);
            } else {
                in.skipField(tag);
                leftOut++;
            }
        }
        if (leftOut > 0) {
            status.addResults("(" + leftOut + " more results were left out)");
        }
        return status.build();
    }
}
