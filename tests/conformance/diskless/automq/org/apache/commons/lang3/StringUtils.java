package org.apache.commons.lang3;

public class StringUtils {
    public static boolean isBlank(CharSequence text) {
        return text == null || text.toString().isBlank();
    }
}
