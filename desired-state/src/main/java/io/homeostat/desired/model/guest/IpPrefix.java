package io.homeostat.desired.model.guest;

import com.google.common.net.InetAddresses;
import java.net.InetAddress;
import java.net.UnknownHostException;

/**
 * An address of IP and the length of its prefix: of a network, or of a host in it. Equal however they are written.
 *
 * @param length bits, at most those of the address
 */
public record IpPrefix(InetAddress address, int length) {
    private static final String FORM =
            " is no address with the length of its prefix, such as 10.0.0.2/24 or fd00::2/64";

    public IpPrefix {
        if (length < 0 || length > bits(address)) {
            throw new IllegalArgumentException(InetAddresses.toAddrString(address) + " has no prefix of " + length
                    + " bits, but 0 to " + bits(address));
        }
    }

    private static int bits(InetAddress address) {
        return address.getAddress().length * 8;
    }

    /**
     * Reads one.
     *
     * @throws IllegalArgumentException when it is none, with what would be right
     */
    public static IpPrefix parse(String text) {
        int slash = text.indexOf('/');
        if (slash < 0) {
            throw new IllegalArgumentException("'" + text + "'" + FORM);
        }
        return of(text.substring(0, slash), text.substring(slash + 1));
    }

    /** Of an address and the digits of a length. */
    public static IpPrefix of(String address, String length) {
        if (!InetAddresses.isInetAddress(address) || address.contains("%") || !length.matches("[0-9]{1,3}")) {
            throw new IllegalArgumentException("'" + address + "/" + length + "'" + FORM);
        }
        return new IpPrefix(InetAddresses.forString(address), Integer.parseInt(length));
    }

    /** The network that the address is in. */
    public IpPrefix network() {
        byte[] bytes = address.getAddress();
        for (int bit = length; bit < bytes.length * 8; bit++) {
            bytes[bit / 8] &= (byte) ~(0x80 >> bit % 8);
        }
        try {
            return new IpPrefix(InetAddress.getByAddress(bytes), length);
        } catch (UnknownHostException e) {
            throw new AssertionError("as many bytes as before", e);
        }
    }

    /** Whether it is of version 6. */
    public boolean isV6() {
        return address.getAddress().length > 4;
    }

    @Override
    public String toString() {
        return InetAddresses.toAddrString(address) + "/" + length;
    }
}
