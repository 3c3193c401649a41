package io.homeostat.observe.ttrpc;

import com.google.protobuf.ByteString;

/**
 * What goes over a connection: a header of ten bytes, that is the payload's length, the stream, type and flags, and the payload.
 *
 * @param stream an unsigned number, the client's are odd
 */
record Frame(int stream, byte type, byte flags, ByteString payload) {
    static final int HEADER = 10;

    /** Bytes of a payload. */
    static final int LONGEST = 4 << 20;

    /** Bytes that a frame takes beside its payload while it waits, about. */
    static final int OVERHEAD = 128;

    static final byte REQUEST = 1;
    static final byte RESPONSE = 2;
    static final byte DATA = 3;

    /** Nothing follows from whoever sent this. In a request: there is a stream of answers. */
    static final byte REMOTE_CLOSED = 1;
    /** In a request: data follow. */
    static final byte REMOTE_OPEN = 2;
    /** A frame of data without a message, not one with an empty message. */
    static final byte NO_DATA = 4;

    static Frame request(int stream, byte flags, ByteString payload) {
        return new Frame(stream, REQUEST, flags, payload);
    }

    static Frame response(int stream, ByteString payload) {
        return new Frame(stream, RESPONSE, (byte) 0, payload);
    }

    static Frame data(int stream, ByteString payload) {
        return new Frame(stream, DATA, (byte) 0, payload);
    }

    static Frame endOfData(int stream) {
        return new Frame(stream, DATA, (byte) (REMOTE_CLOSED | NO_DATA), ByteString.EMPTY);
    }

    /** Says of something that it does not fit into a frame. */
    static String tooLong(String what, int length) {
        return what + " has " + length + " bytes, of which " + LONGEST + " are allowed";
    }

    boolean has(byte flag) {
        return (flags & flag) != 0;
    }
}
